/** The path prefix of the console. `cloud/console.ts` serves the pages at the same path. */
export const basePath = '/console'
