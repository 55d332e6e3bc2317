/** The search parameters of the topology page. */
export type TopologySearch = 'q' | 'predicate' | 'at' | 'with' | 'thing' | 'show' | 'to' | 'many'
