select variant, row, board, split
from bearoff_labels
where not coalesce(len(board) = 26 and board[1] = 0 and board[26] = 0 and class = 'race'
                   and list_min(board[2:13]) >= 0 and list_max(board[14:25]) <= 0
                   and list_max(board) > 0 and list_min(board) < 0
                   and split in ('train', 'validation', 'test'), false);
