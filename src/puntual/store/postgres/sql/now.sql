SELECT puntual.now_us()
