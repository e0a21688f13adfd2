-- The name of a player whom files call by several names. bgdata sets the variable from `players.toml` of the warehouse;
-- other clients can set it themselves.
create macro player_named(name) as
    coalesce((getvariable('player_aliases')::map(varchar, varchar))[name], name);
comment on macro player_named is 'Name of a player, where players.toml has one for an alias';
