-- who decides wrongly loses the margin of the right decision
select * from cube_life
where janowski_double_loss not in (0, abs(double_margin)) or one_sided_double_loss not in (0, abs(double_margin))
   or janowski_redouble_loss not in (0, abs(redouble_margin)) or one_sided_redouble_loss not in (0, abs(redouble_margin))
   or janowski_take_loss not in (0, abs(take_margin)) or one_sided_take_loss not in (0, abs(take_margin));
