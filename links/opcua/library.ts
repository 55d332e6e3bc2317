import type * as Opcua from 'node-opcua-client'

/** `Library` is the OPC UA library. It is loaded with the first call, because loading it takes about a second. */
export type Library = typeof Opcua

/**
 * The maximum number of elements of an array in an answer. The library creates an array of empty values with the length
 * that the server states, so a short answer could otherwise use gigabytes.
 */
const mostElements = 1_000

let loading: Promise<Library> | undefined

/** Loads the OPC UA library. Its own messages are not printed, because the link reports errors of devices itself. */
export function loadLibrary(): Promise<Library> {
  loading ??= import('node-opcua-client').then((library) => {
    for (const setLogger of [library.setDebugLogger, library.setWarningLogger, library.setErrorLogger]) {
      setLogger(() => undefined)
    }
    library.Variant.maxArrayLength = mostElements
    return library
  })
  return loading
}
