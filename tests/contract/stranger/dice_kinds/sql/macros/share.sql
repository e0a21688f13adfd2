create macro share(part, whole) as part / whole;
comment on macro share is 'A part of a whole';
