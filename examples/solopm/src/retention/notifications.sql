-- Read three months ago. One whose mail has not left is still to be told of, however old it is.
delete from solopm.notifications
where read_at < $1 - interval '90 days'
  and (mailed_at is not null or delivery = 'none')
