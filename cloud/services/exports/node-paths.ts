import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import type { Context } from '../../platform/service.ts'
import type { NodePath } from './table-rows.ts'

/** The number of paths that a run keeps in memory. */
const mostPaths = 20_000

/** `NodePaths` reads the paths of nodes in the name of a caller. A caller that cannot read hierarchies gets no paths. */
export class NodePaths {
  readonly #context: Pick<Context, 'peers'>
  readonly #paths = new Map<string, NodePath | null>()

  constructor(context: Pick<Context, 'peers'>) {
    this.#context = context
  }

  /** Returns the paths of these nodes. It reads those that are not known yet. */
  async of(caller: Caller, nodeIds: readonly string[]): Promise<Map<string, NodePath>> {
    if (!may(caller, 'glb_hierarchy_read')) {
      this.#paths.clear()
      return new Map()
    }
    if (this.#paths.size > mostPaths) this.#paths.clear()
    const unknown = nodeIds.filter((id) => !this.#paths.has(id))
    for (let start = 0; start < unknown.length; start += hierarchyLimits.nodesPerBatch) {
      const ids = unknown.slice(start, start + hierarchyLimits.nodesPerBatch)
      const { data } = await this.#context
        .peers(hierarchy, caller)
        .describeNodePaths({ body: { data: { nodeIds: ids } } })
      for (const id of ids) this.#paths.set(id, null)
      for (const { nodeId, hierarchyId, names } of data) this.#paths.set(nodeId, { hierarchyId, text: joinPath(names) })
    }
    const found = new Map<string, NodePath>()
    for (const id of nodeIds) {
      const path = this.#paths.get(id)
      if (path !== null && path !== undefined) found.set(id, path)
    }
    return found
  }
}
