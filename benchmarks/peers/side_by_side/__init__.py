"""Vernier, ONNX Runtime and OpenVINO on the same models, threads and data: what the scripts of benchmarks/peers share, and their tables.

    paths, machine, models    where things lie, what stands above a table, what is run
    vernier_cli               engines as a user gets them from `vernier build`
    engines, host, tasks      each engine behind one interface, in a process of its own, and what such a process can be asked to do
    samples, results          percentiles and ratios with their intervals; the files of tables
    cpu_table, neighbours, threads, lengths, decoder    one module for each table
"""
