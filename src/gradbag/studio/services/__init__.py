"""What the studio's routes answer: functions of a page, without HTTP, files or processes."""
