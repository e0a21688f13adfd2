-- by the other side, with the cube as it was; a record may break off behind a double
select variant, dataset, game, turn, action, answer
from (
    select *,
           lead(action) over following as answer,
           lead(player) over following as answered_by,
           lead(cube_value) over following as answered_cube
    from turns
    window following as (partition by dataset, variant, game order by turn)
)
where action = 'double'
  and (answer not in ('take', 'pass', 'beaver', 'resign')
       or (answer in ('take', 'pass') and (answered_by = player or answered_cube <> cube_value)));
