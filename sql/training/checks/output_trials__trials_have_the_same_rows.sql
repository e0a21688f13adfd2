select variant, games
from output_trials
group by variant, games
having list(trial order by trial) <> ['backgammon', 'chances', 'gammon', 'weighted', 'weighted after', 'zeroed'];
