-- a first roll is played in the opening position, and a reply begins where the play that it answers ends
select o.variant, o.decision, o.rank, o.first_roll, o.first_play, o.reply_roll, o.position_id, o.play, o.next_position_id
from openings as o
left join openings as answered
  on answered.variant = o.variant and answered.first_roll = o.first_roll and answered.first_play is null
 and answered.play = o.first_play
where not coalesce(o.objective in ('money', 'double-match-point')
                   and o.first_roll[1] > o.first_roll[2] and o.first_roll[1] between '2' and '6'
                   and (o.first_play is null) = (o.reply_roll is null)
                   and o.position_id = coalesce(answered.next_position_id, '4HPwATDgc/ABMA')
                   and (o.first_play is null or answered.play is not null)
                   and o.play <> '' and o.next_position_id <> o.position_id
                   and o.n_legal_plays > o.rank, false);
