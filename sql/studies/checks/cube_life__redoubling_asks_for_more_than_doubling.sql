-- who redoubles gives away the right to do so later; what a 16-bit code rounds is left to it
select * from cube_life where redouble_margin > double_margin + 1e-4;
