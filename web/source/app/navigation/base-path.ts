/** Where the pages of the console live; the same in `cloud/console.ts`, which serves them. */
export const basePath = '/console'
