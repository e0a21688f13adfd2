-- What every version was made from, one row for each input: those that its manifest records with their digests, and
-- those that its recipe only names, `KIND/VARIANT/VERSION`, looked up in this warehouse. To go further back, join it
-- with itself.
create view lineage as
with here as (
    select manifest->>'dataset' as dataset, manifest->>'variant' as variant, version,
           manifest->>'digest' as digest, is_current, manifest->>'created' as created
    from manifests
),
recorded as (
    select manifest->>'dataset' as dataset, manifest->>'variant' as variant, version,
           unnest(json_keys(manifest->'inputs')) as role, manifest->'inputs' as inputs
    from manifests
),
parameters as (
    select manifest->>'dataset' as dataset, manifest->>'variant' as variant, version,
           unnest(json_keys(manifest->'parameters')) as role, manifest->'parameters' as parameters
    from manifests
),
named as (
    select dataset, variant, version, role,
           unnest(case when json_type(parameters->role) = 'VARCHAR' then  -- a player such as network/NAME
               regexp_extract_all(parameters->>role, '[a-z][a-z0-9_]*/[a-z0-9]+(?:-[a-z0-9]+)*(?:/r[1-9][0-9]*-[0-9a-f]{8})?')
           else
               list_transform(
                   regexp_extract_all((parameters->role)::varchar, '"kind": ?"[^"]*", ?"variant": ?"[^"]*", ?"version": ?"[^"]*"'),
                   lambda named: rtrim(regexp_replace(named, '"kind": ?"(.*)", ?"variant": ?"(.*)", ?"version": ?"(.*)"', '\1/\2/\3'), '/')
               )
           end) as place
    from parameters
),
places as (
    select dataset, variant, version, role, false as is_recorded,
           split_part(place, '/', 1) as input_dataset, split_part(place, '/', 2) as input_variant,
           nullif(split_part(place, '/', 3), '') as named_version, null as input_digest
    from named
    union all
    select dataset, variant, version, role, true,
           split_part(inputs->>role, '/', 1), split_part(split_part(inputs->>role, '/', 2), '@', 1),
           null, split_part(inputs->>role, '@', 2)
    from recorded
),
found as (
    select places.*, here.version as here_version, here.digest as here_digest,
           row_number() over (
               partition by places.dataset, places.variant, places.version, role, is_recorded, places.input_dataset,
                            places.input_variant, named_version, input_digest
               order by here.is_current desc, here.created desc
           ) as choice
    from places
    left join here
      on here.dataset = places.input_dataset and here.variant = places.input_variant
     and case when is_recorded then here.digest = input_digest
              when named_version is not null then here.version = named_version
              else here.is_current end
)
select dataset, variant, version,
       exists (
           from here where here.dataset = found.dataset and here.variant = found.variant
                       and here.version = found.version and here.is_current) as is_current,
       role, input_dataset, input_variant,
       coalesce(here_version, named_version) as input_version,
       coalesce(input_digest, here_digest) as input_digest,
       is_recorded,
       here_version is not null as is_here
from found
where choice = 1
  and (is_recorded or not exists (
      from recorded
      where recorded.dataset = found.dataset and recorded.variant = found.variant and recorded.version = found.version
        and starts_with(recorded.inputs->>recorded.role, found.input_dataset || '/' || found.input_variant || '@')))
order by dataset, variant, version, is_recorded desc, role, input_dataset, input_variant;
comment on view lineage is 'One row for each input of each version in the warehouse: what it was made from, by role';
comment on column lineage.dataset is 'Dataset kind of the version';
comment on column lineage.variant is 'Its choice of parameters';
comment on column lineage.version is 'Its folder: r<revision>-<first 8 hex digits of the digest>';
comment on column lineage.is_current is 'Whether the views of the catalog show this version';
comment on column lineage.role is 'What the input is used for; `guard`: its positions are left out';
comment on column lineage.input_dataset is 'Dataset kind of the input';
comment on column lineage.input_variant is 'Choice of parameters of the input';
comment on column lineage.input_version is 'Version of the input: the one that the recipe names or, in this warehouse, one with the digest; null if unknown';
comment on column lineage.input_digest is 'SHA-256 of the values of the input; null where only its name is known, whose version has the first 8 digits';
comment on column lineage.is_recorded is 'Whether the manifest records the input with its digest; false: the recipe names it';
comment on column lineage.is_here is 'Whether the input is in this warehouse';
