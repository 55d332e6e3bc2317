/** The path prefix of the console. `cloud/console.ts` serves the pages under the same prefix. */
export const basePath = '/console'
