-- Bearoff formulas that work in any DuckDB client. Points lists have the ace point first; chances lists start at 0 rolls.
-- No `if(...)`: DuckDB 2 stores it as a function, which the older clients that open the catalog do not have.

create macro epc(mean_rolls) as mean_rolls * 49 / 6;
comment on macro epc is 'Effective pip count: expected rolls times 49/6, the average pips of a roll';

create macro binomial(n, r) as
    case when r < 0 or n < r then 0
         when r = 0 and n >= 0 then 1 -- the product of no numbers is NULL
         else round(list_product(list_transform(range(1, r + 1), lambda i: (n - r + i) / i::double)))::bigint end;
comment on macro binomial is 'Binomial coefficient n over r (1 for r = 0)';

create macro bearoff_index(points) as
    case when len(points) between 1 and 18 and list_count(points) = len(points)
              and list_min(points) >= 0 and list_sum(points) <= 15 then
         list_sum(list_transform(
             range(1, len(points) + 1),
             lambda k: binomial(
                 list_sum(list_slice(points, k, len(points)))::bigint + len(points) - k,
                 len(points) - k + 1)))::integer end;
comment on macro bearoff_index is
    'Position index of a layout: rank by checkers, then most on the ace point, deuce point, ...; NULL for what is none';

create macro win_chance(on_roll_chances, opponent_chances) as
    case when opponent_chances is not null then
         list_sum(list_transform(
             on_roll_chances,
             lambda chance, n: chance * coalesce(list_sum(list_slice(opponent_chances, n, len(opponent_chances))), 0)))
    end;
comment on macro win_chance is
    'Chance that the player on roll is off first, when both just race: sum of P(exactly n) times Q(n or more)';

create macro cube_value(no_double, opponent_owned) as -- greatest and least pass NULLs over
    case when no_double is not null and opponent_owned is not null
         then greatest(no_double, least(2 * opponent_owned, 1)) end;
comment on macro cube_value is
    'Equity of a player who may double now: of the no-double equity and the lesser of taking (2 x opponent_owned) and passing (1)';

create macro best_cube_action(cubeless, owned, centered, opponent_owned, cube_owner := 'centered') as
    case when cube_owner = 'opponent' then 'no double'
         when cube_owner not in ('centered', 'on_roll') then
              error('expected a cube_owner among centered, on_roll, opponent, got ' || cube_owner)
         when cube_owner is null or opponent_owned is null then null
         when case cube_owner when 'centered' then centered else owned end <= least(2 * opponent_owned, 1) then
              case cube_owner when 'centered' then '' else 're' end
              || case when 2 * opponent_owned < 1 then 'double, take' else 'double, pass' end
         when case cube_owner when 'centered' then centered else owned end > 1 then 'too good to double'
         when case cube_owner when 'centered' then centered else owned end <= 1 then 'no double' end;
comment on macro best_cube_action is
    'Right cube action from the four no-double equities; cube_owner is centered (default), on_roll or opponent. Ties double';
