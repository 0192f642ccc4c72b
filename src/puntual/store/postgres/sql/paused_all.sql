SELECT pause FROM puntual.pause_of_all
