-- the last step alone may be shorter
select variant, trial, games
from output_trials
window run as (partition by variant, trial order by games)
qualify not (games > 0
             and games <= row_number() over run * first_value(games) over run
             and games > (row_number() over run - 1) * first_value(games) over run
             and (games = row_number() over run * first_value(games) over run or lead(games) over run is null));
