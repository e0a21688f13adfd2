select variant, match, n_games, found
from imported_matches
left join (
    select variant, match, count(*) as found from games where dataset = 'matches' group by all
) using (variant, match)
where n_games is distinct from found or n_files is null or n_files < 1;
