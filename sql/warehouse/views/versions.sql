-- Every version with all of its manifest.
create view versions as
select manifest->>'dataset' as dataset,
       manifest->>'variant' as variant,
       version,
       is_current,
       (manifest->>'revision')::integer as revision,
       manifest->>'digest' as digest,
       manifest->>'recipe_key' as recipe_key,
       (manifest->>'rows')::bigint as rows,
       list_sum((manifest->'files'->'$[*].bytes')::bigint[])::bigint as bytes,
       manifest->'parameters' as parameters,
       manifest->'inputs' as inputs,
       manifest->'raw_files' as raw_files,
       manifest->'warnings' as warnings,
       manifest->'files' as files,
       manifest->'statistics' as statistics,
       manifest->>'licence' as licence,
       manifest->>'source' as source,
       manifest->>'kernel_fingerprint' as kernel_fingerprint,
       manifest->'software' as software,
       manifest->>'source_commit' as source_commit,
       (manifest->>'created')::timestamptz as created,
       (manifest->>'seconds')::double as seconds,
       (manifest->>'peak_memory_bytes')::bigint as peak_memory_bytes,
       manifest->>'machine' as machine,
       (manifest->>'format')::integer as format
from manifests;
comment on view versions is 'One row per version in the warehouse, with all of its manifest';
comment on column versions.dataset is 'Dataset kind';
comment on column versions.variant is 'Choice of parameters';
comment on column versions.version is 'Folder: r<revision>-<first 8 hex digits of the digest>';
comment on column versions.is_current is 'Whether the views of the catalog show this version';
comment on column versions.revision is 'Revision of the recipe';
comment on column versions.digest is 'SHA-256 of the values (names, dtypes, shapes and little-endian bytes of the arrays)';
comment on column versions.recipe_key is 'SHA-256 of kind, revision, parameters and digests of the inputs';
comment on column versions.rows is 'Rows of the table';
comment on column versions.bytes is 'Size of all files [bytes]';
comment on column versions.parameters is 'Parameters as JSON';
comment on column versions.inputs is 'Digests of the datasets that it was computed from, as JSON';
comment on column versions.raw_files is 'Name, size, SHA-256, address, licence and date of each file that it was imported from';
comment on column versions.warnings is 'What its users should know, as JSON';
comment on column versions.files is 'Name, size and SHA-256 of each file, as JSON';
comment on column versions.statistics is 'Summary figures and stated error bounds, as JSON';
comment on column versions.licence is 'Licence of the values';
comment on column versions.source is 'Where the values come from';
comment on column versions.kernel_fingerprint is 'Fingerprint of the source of all kernels at the build';
comment on column versions.software is 'Versions of the software at the build, as JSON';
comment on column versions.source_commit is 'Commit of the source tree at the build';
comment on column versions.created is 'When it was built; no part of any digest';
comment on column versions.seconds is 'Seconds of computing [s]';
comment on column versions.peak_memory_bytes is 'Most memory that the building process held [bytes]';
comment on column versions.machine is 'Machine of the build';
comment on column versions.format is 'Format of the manifest';
