select * from bearoff_error where abs(one_sided_equity - exact_equity - difference) > 1e-6;
