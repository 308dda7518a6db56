select :schema.redrive($1)
