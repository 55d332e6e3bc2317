import { createRequire } from 'node:module'

let loaded: typeof import('undici') | undefined

/**
 * Returns the HTTP client undici. It is loaded at the first use, because it delays each start of a process, and most
 * commands and many platforms send no requests to other systems.
 */
export function undici(): typeof import('undici') {
  loaded ??= createRequire(import.meta.url)('undici') as typeof import('undici')
  return loaded
}
