DELETE FROM tokens WHERE id = ?
