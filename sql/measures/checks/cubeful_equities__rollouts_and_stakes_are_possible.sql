select variant, row, measured, standard_error, trials, away, opponent_away, cube_value, cube_owner
from cubeful_equities
where not coalesce(isfinite(measured) and standard_error >= 0 and trials >= 2, false)
    or (away is null) <> (opponent_away is null)
    or away not between 2 and 9 or opponent_away not between 2 and 9
    or not coalesce(cube_value = 1 or cube_owner <> 'centered', false)
    or case cube_owner when 'opponent' then opponent_away else away end <= cube_value;
