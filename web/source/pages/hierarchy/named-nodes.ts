import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { isFailure } from '../../app/api/failure.ts'
import { useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { type GraphData, withoutNodes } from '../../components/graph/graph-data.ts'
import { usePathQuery } from './hierarchy-data.ts'
import { hierarchyMessages } from './messages.ts'

/** The entry of a deleted node in the list of names. The entry of a name that is not loaded yet is undefined. */
const deleted = ''

/**
 * Adds the names of hierarchy nodes to a graph, because the inventory stores only the ids of these nodes. The current
 * graph contains no deleted nodes. An earlier graph contains them without their names.
 */
export function useNamedNodes(data: GraphData, { isCurrent }: { isCurrent: boolean }): GraphData {
  const text = useText(hierarchyMessages)
  const pathQuery = usePathQuery()
  const canRead = usePermission('glb_hierarchy_read')
  const keys = canRead ? [...data.nodes].filter(([, { type }]) => type === 'node').map(([key]) => key) : []
  const names = useQueries({
    queries: keys.map((key) => pathQuery(data.nodes.get(key)?.id)),
    combine: (results) =>
      results.map(({ data: path, error }) => (isFailure(error, 'not_found') ? deleted : path?.data.at(-1)?.name)),
  })
  const stamp = JSON.stringify(names)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp changes with the names, not with each response
  return useMemo(() => {
    if (names.every((name) => name === undefined)) return data
    const named = keys.flatMap((key, index) => {
      const [node, name] = [data.nodes.get(key), names[index]]
      return node === undefined || name === undefined
        ? []
        : [[key, { ...node, name: name || text.deletedNode }] as const]
    })
    const all = { ...data, nodes: new Map([...data.nodes, ...named]) }
    return isCurrent ? withoutNodes(all, new Set(keys.filter((_key, index) => names[index] === deleted))) : all
  }, [data, stamp, isCurrent])
}
