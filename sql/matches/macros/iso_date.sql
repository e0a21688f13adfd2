-- Dates of files in one form, so that they can be compared. eXtreme Gammon and GammonView write 2026.11.30, gnubg
-- 2026-11-30 or 11/30/26. Other texts stay what they are.
create macro iso_date(text) as
    coalesce(
        strftime(
            try_strptime(text, ['%Y-%m-%d', '%Y.%m.%d', '%m/%d/%y', '%m/%d/%Y', '%d/%m/%Y', '%d.%m.%Y', '%Y/%m/%d']),
            '%Y-%m-%d'
        ),
        text
    );
comment on macro iso_date is 'A date such as 2026.11.30 or 11/30/26 (month first, if it can be) in the form 2026-11-30; any other text as it is';
