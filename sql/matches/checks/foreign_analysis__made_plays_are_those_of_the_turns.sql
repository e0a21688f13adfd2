select variant, game, turn, analyst, choice, text, play
from foreign_analysis
left join (from turns where dataset = 'matches') using (variant, game, turn)
where subject = 'play' and is_made and text is distinct from play;
