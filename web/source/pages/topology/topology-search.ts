/** `TopologySearch` is the name of a search parameter of the topology page. */
export type TopologySearch = 'q' | 'predicate' | 'at' | 'with' | 'thing' | 'show' | 'to' | 'many'
