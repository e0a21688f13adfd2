-- Bearoff formulas that work in any DuckDB client. Points lists have the ace point first; chances lists start at 0 rolls.

create macro epc(mean_rolls) as mean_rolls * 49 / 6;
comment on macro epc is 'Effective pip count: expected rolls times 49/6, the average pips of a roll';

create macro binomial(n, r) as
    case when r < 0 or n < r then 0
         else round(list_product(list_transform(range(1, r + 1), lambda i: (n - r + i) / i::double)))::bigint end;
comment on macro binomial is 'Binomial coefficient n over r (1 for r = 0)';

create macro bearoff_index(points) as
    list_sum(list_transform(
        range(1, len(points) + 1),
        lambda k: binomial(
            list_sum(list_slice(points, k, len(points)))::bigint + len(points) - k,
            len(points) - k + 1)))::integer;
comment on macro bearoff_index is 'Position index of a layout: rank by checkers, then most on the ace point, deuce point, ...';

create macro win_chance(on_roll_chances, opponent_chances) as
    list_sum(list_transform(
        on_roll_chances,
        lambda chance, n: chance * coalesce(list_sum(list_slice(opponent_chances, n, len(opponent_chances))), 0)));
comment on macro win_chance is
    'Chance that the player on roll is off first, when both just race: sum of P(exactly n) times Q(n or more)';

create macro cube_value(no_double, opponent_owned) as greatest(no_double, least(2 * opponent_owned, 1));
comment on macro cube_value is
    'Equity of a player who may double now: of the no-double equity and the lesser of taking (2 x opponent_owned) and passing (1)';

create macro best_cube_action(cubeless, owned, centered, opponent_owned, cube_owner := 'centered') as
    case when cube_owner not in ('centered', 'on_roll') then 'no double'
         when least(2 * opponent_owned, 1) < if(cube_owner = 'centered', centered, owned) then
              if(if(cube_owner = 'centered', centered, owned) > 1, 'too good to double', 'no double')
         when 2 * opponent_owned >= 1 then if(cube_owner = 'centered', 'double, pass', 'redouble, pass')
         else if(cube_owner = 'centered', 'double, take', 'redouble, take') end;
comment on macro best_cube_action is
    'Right cube action from the four no-double equities; cube_owner is centered (default), on_roll or opponent. Ties double';
