-- A content that is there already becomes young again, and its row stays locked until the commit: the cull, which may be
-- at work, looks at it again behind that.
with blob as (
  insert into solopm.blobs as b (hash, content) values (sha256($3), $3)
  on conflict (hash) do update set uploaded_at = now()
  returning hash
)
insert into solopm.attachments (issue_id, file_name, blob_hash)
select $1, $2, hash from blob
returning id
