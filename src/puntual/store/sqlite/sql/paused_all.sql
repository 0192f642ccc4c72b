SELECT pause FROM pause_of_all
