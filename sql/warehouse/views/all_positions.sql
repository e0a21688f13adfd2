-- Positions of games, analysed matches, benchmarks, references and the opening book in the same columns. A condition
-- `source = '...'` reads only the tables of that source. No `if(...)`, as in bearoff.sql.
create view all_positions as
select 'games' as source, t.dataset, t.variant, t.game, t.turn, t.position_id, t.board, t.class, theme(t.board) as theme,
       t.die1, t.die2,
       case when g.match_length > 0 then g.match_length - case t.on_roll when 0 then g.score_0 else g.score_1 end
       end::integer as away,
       case when g.match_length > 0 then g.match_length - case t.on_roll when 0 then g.score_1 else g.score_0 end
       end::integer as opponent_away,
       t.cube_value::integer as cube_value, t.cube_owner,
       case t.player when 0 then g.player_0 else g.player_1 end as player,
       t.action as subject, coalesce(nullif(t.play, ''), t.action) as made, null::varchar as best,
       null::double as loss, t.luck
from turns t join games g using (dataset, variant, game)
union all
select 'matches', 'match_analysis', variant, game, turn, position_id, board, class, theme, die1, die2, away,
       opponent_away, cube_value, cube_owner, player_named(player_name), subject, made, best, loss, luck
from match_analysis
union all
select 'decisions', d.dataset, d.variant, d.game, d.turn, d.position_id, d.board, d.class, theme(d.board), d.die1, d.die2,
       null, null, null, null, null, 'play', null, null, p.loss, null
from benchmark_decisions d
left join benchmark_plays p on p.dataset = d.dataset and p.variant = d.variant and p.decision = d.decision and p.rank = 1
union all
select 'references', 'reference_positions', variant, game, turn, position_id, board, class, theme, null, null, null, null,
       null, null, null, source, null, null, null, null
from reference_positions
union all
select 'openings', 'openings', variant, null, null, position_id, board(position_id), 'contact', 'opening',
       left(coalesce(reply_roll, first_roll), 1)::tinyint, right(coalesce(reply_roll, first_roll), 1)::tinyint,
       case when objective <> 'money' then 1 end, case when objective <> 'money' then 1 end, 1, 'centered', null, 'play', null, play,
       second_loss, null
from opening_book;
comment on view all_positions is
    'Positions of games, analysed matches, benchmarks, references and the opening book in the same columns';
comment on column all_positions.source is 'games, matches (analysed), decisions (rolled out), references, or openings';
comment on column all_positions.dataset is 'Kind of the table';
comment on column all_positions.variant is 'Variant of the table';
comment on column all_positions.game is 'Number of the game in its corpus or import, from 0; null if unknown';
comment on column all_positions.turn is 'Number of the turn in its game, from 0; null if unknown';
comment on column all_positions.position_id is 'Position of the player on roll';
comment on column all_positions.board is 'Board of the player on roll';
comment on column all_positions.class is 'Class of the position';
comment on column all_positions.theme is 'Theme of the position, such as blitz';
comment on column all_positions.die1 is 'First die, null without a roll';
comment on column all_positions.die2 is 'Second die, null without a roll';
comment on column all_positions.away is 'Points that the player on roll needs; null in money play and where unknown [points]';
comment on column all_positions.opponent_away is
    'Points that the opponent needs; null in money play and where unknown [points]';
comment on column all_positions.cube_value is 'Cube before the turn, null where unknown';
comment on column all_positions.cube_owner is 'centered, on_roll or opponent, null where unknown';
comment on column all_positions.player is 'Name of who decides, null where nobody does';
comment on column all_positions.subject is
    'play, roll, double, take, pass, answer and so on; of references where the position is from';
comment on column all_positions.made is 'Play or cube action that was made, null where unknown';
comment on column all_positions.best is 'Best play or cube action, null where unknown';
comment on column all_positions.loss is
    'What was lost by the play or cube action that was made; in decisions and openings by the second best [points]';
comment on column all_positions.luck is 'Luck of the roll, null where unknown [points]';
