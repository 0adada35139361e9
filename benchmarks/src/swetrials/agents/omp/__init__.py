"""omp: how it is started; what it prints is read as what pi prints."""
