/** `TopologySearch` is the name of a search parameter of the topology page. */
export type TopologySearch =
  | 'by'
  | 'hierarchy'
  | 'in'
  | 'asset'
  | 'layout'
  | 'sort'
  | 'q'
  | 'at'
  | 'since'
  | 'compare'
  | 'span'
  | 'show'
  | 'to'
  | 'all'

export type TopologySearchState = Partial<Record<TopologySearch, string>>
export type ChangeTopologySearch = (changed: Partial<Record<TopologySearch, string | undefined>>) => void
