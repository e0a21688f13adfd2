-- The best play of each first roll and of each reply, the second best, and what it loses.
create view opening_book as
with best as (
    select * from openings where rank = 0
),
second as (
    select * from openings where rank = 1
)
select best.variant, best.decision, best.objective, best.first_roll, best.first_play, best.reply_roll, best.position_id,
       best.play, best.equity, best.standard_error, second.play as second_play, second.loss as second_loss,
       second.loss_standard_error as second_loss_standard_error, candidates.n_candidates, candidates.games, best.network
from best
left join second using (variant, decision)
join (
    select variant, decision, count(*) as n_candidates, sum(trials)::bigint as games from openings group by all
) as candidates using (variant, decision);
comment on view opening_book is 'The best play of each first roll and of each reply to its sensible plays, and what the second best loses';
comment on column opening_book.variant is 'Variant of openings';
comment on column opening_book.decision is 'Number of the decision in openings';
comment on column opening_book.objective is 'What is at stake: money or double-match-point';
comment on column opening_book.first_roll is 'Roll of the player who begins, the higher die first';
comment on column opening_book.first_play is 'How it was played, null where that is the decision';
comment on column opening_book.reply_roll is 'Roll of the player who replies, null where the first roll is played';
comment on column opening_book.position_id is 'Position before the play, of the player on roll';
comment on column opening_book.play is 'The best play in the usual notation';
comment on column opening_book.equity is 'Equity of who plays it: without a cube, or 1 for a win and -1 for a loss [points]';
comment on column opening_book.standard_error is 'Standard error of equity [points]';
comment on column opening_book.second_play is 'The second best of the candidates, null if there is but one';
comment on column opening_book.second_loss is 'Equity that it loses against the best [points]';
comment on column opening_book.second_loss_standard_error is 'Standard error of second_loss, from games with the same dice [points]';
comment on column opening_book.n_candidates is 'Plays that were rolled out [plays]';
comment on column opening_book.games is 'Games played with all of them [games]';
comment on column opening_book.network is 'Network that played both sides, and its version';
