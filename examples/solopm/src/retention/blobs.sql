-- Contents that no attachment names any more. A day's grace is for uploads under way: one that finds its content here makes
-- it young again and holds its row, and this statement looks again behind that.
delete from solopm.blobs b
where b.uploaded_at < $1 - interval '1 day'
  and not exists (select from solopm.attachments a where a.blob_hash = b.hash)
