import { type Contract, isInternal, type Operation, pathsOf } from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'

type ServedOperation = { contract: Contract; operation: Operation }

/**
 * `PathTable` lists the public paths with their methods, and answers requests without a route. It returns 405 with
 * `Allow` if the path exists with other methods, and 404 otherwise. Literal paths take precedence over parameters, as
 * in OpenAPI: `/assets/batch` has only the methods of `/assets/batch`, not those of `/assets/{id}`.
 */
export class PathTable {
  readonly #methods = new Map<string, Set<string>>()
  /** The paths by their number of segments, literal paths first. */
  readonly #bySegments = new Map<number, { pattern: RegExp; path: string }[]>()

  constructor(operations: readonly ServedOperation[], pages: readonly { path: string }[]) {
    for (const { contract, operation } of operations) {
      if (isInternal(operation)) continue
      for (const path of pathsOf(contract, operation)) this.#add(path, operation.method)
    }
    for (const { path } of pages) if (!path.includes('*')) this.#add(path, 'GET')
    for (const path of [...this.#methods.keys()].toSorted(literalFirst)) {
      const segments = path.split('/').length
      const routes = this.#bySegments.get(segments) ?? []
      routes.push({ path, pattern: patternOf(path) })
      this.#bySegments.set(segments, routes)
    }
  }

  /**
   * The literal paths with the methods that must be refused. The router would otherwise pass these requests to a path
   * with a parameter.
   */
  get shadowed(): { path: string; method: string }[] {
    return [...this.#methods].flatMap(([path, methods]) => {
      if (path.includes('{')) return []
      const others = (this.#bySegments.get(path.split('/').length) ?? []).filter(
        (other) => other.path !== path && other.pattern.test(path),
      )
      const excess = new Set(others.flatMap((other) => [...(this.#methods.get(other.path) ?? [])])).difference(methods)
      return [...excess].map((method) => ({ path, method }))
    })
  }

  /** Returns the problem for a method and path without a route. The path has no query. */
  problemFor(method: string, path: string): Problem {
    const decoded = decode(path)
    const match = this.#bySegments.get(decoded.split('/').length)?.find(({ pattern }) => pattern.test(decoded))
    const methods = [...(this.#methods.get(match?.path ?? '') ?? [])]
    if (methods.length === 0) return new Problem('not_found', 'This path does not exist')
    const allow = methods.join(', ')
    return new Problem('method_not_allowed', `${method} is not supported at this path. Supported: ${allow}`, {
      headers: { allow },
    })
  }

  #add(path: string, method: string): void {
    const methods = this.#methods.get(path) ?? new Set()
    this.#methods.set(path, methods.add(method))
  }
}

/** Returns a pattern for the paths of a route, with parameters in braces. */
export function patternOf(path: string): RegExp {
  const text = path.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^$()[\]\\|]/g, '\\$&'))
  return new RegExp(`^${text.join('[^/]+')}$`)
}

function literalFirst(a: string, b: string): number {
  return (a.match(/\{/g)?.length ?? 0) - (b.match(/\{/g)?.length ?? 0)
}

/** Decodes a path like the router. An escaped slash stays escaped. */
function decode(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}
