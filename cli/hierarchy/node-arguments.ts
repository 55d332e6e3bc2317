import { hierarchy } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Command } from 'commander'
import type { Session } from '../session/session.ts'

export function withHierarchyOption(command: Command): Command {
  return command.option('--hierarchy <hierarchy>', 'id or name of the hierarchy (default: the only hierarchy)')
}

/** Adds the argument for a node, and the option for the hierarchy in which a node path is resolved. */
export function withNode(command: Command): Command {
  return withHierarchyOption(command.argument('<node>', 'id, or path such as "Site 1/Line A"'))
}

/** `NodePaths` reads the paths of nodes for tables. Each path is read only once. */
export class NodePaths {
  readonly #session: Session
  readonly #paths = new Map<string, string>()

  constructor(session: Session) {
    this.#session = session
  }

  /** Reads the paths of nodes. A deleted node has its id instead of a path. */
  async read(nodeIds: Iterable<string>): Promise<void> {
    for (const id of nodeIds) {
      if (!this.#paths.has(id)) this.#paths.set(id, await readPath(this.#session, id))
    }
  }

  of(nodeId: string): string {
    return this.#paths.get(nodeId) ?? nodeId
  }
}

async function readPath({ api }: Session, id: string): Promise<string> {
  try {
    const { data } = await api(hierarchy).readPath({ params: { id } })
    return joinPath(data.map(({ name }) => name))
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return id
    throw error
  }
}
