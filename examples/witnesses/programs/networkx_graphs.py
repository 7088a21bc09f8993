"""networkx: shortest paths, flows, spanning trees, centrality, colouring."""
import networkx as nx

graph = nx.gnp_random_graph(40, 0.15, seed=3)
for u, v in graph.edges:
    graph[u][v]["weight"] = (u * 7 + v * 13) % 17 + 1
print(nx.shortest_path(graph, 0, 39, weight="weight"), nx.number_connected_components(graph))
print(sum(d["weight"] for _, _, d in nx.minimum_spanning_edges(graph)), nx.maximum_flow_value(graph, 0, 39, capacity="weight"))
print([round(v, 12) for v in nx.betweenness_centrality(graph).values()][:6], max(nx.greedy_color(graph).values()))
print(sorted(map(len, nx.find_cliques(graph)))[-3:], nx.diameter(graph.subgraph(max(nx.connected_components(graph), key=len))))
print(list(nx.topological_sort(nx.DiGraph([(1, 2), (1, 3), (2, 4), (3, 4)]))), nx.is_planar(nx.complete_graph(5)))
