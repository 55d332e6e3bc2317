import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '@millwright/link-sdk/manifest.ts'

/** `BuiltInLink` is a link of this folder. A gateway can run it as a child process. */
export type BuiltInLink = {
  name: string
  /** The id of the link in its manifest. The link registers with this id. */
  appInstanceId: string
  /** The path of the program. */
  file: string
  /** Returns the functions that the link sends, from its manifest. */
  functions?: () => Promise<readonly { protocol: string; operation: string }[] | undefined>
}

const names = ['plant', 'ip-scan', 'snmp', 'opcua', 'modbus', 'ethernet-ip', 'mdns', 'bacnet', 's7', 'profinet']

/** The built-in links whose folder exists. */
export const builtInLinks: readonly BuiltInLink[] = names
  .map((name) => {
    const file = join(import.meta.dirname, name, 'main.ts')
    return {
      name,
      appInstanceId: `millwright.links.${name}`,
      file,
      functions: async () => (await manifestOf({ file })).sends,
    }
  })
  .filter(({ file }) => existsSync(file))

/** Loads the manifest of a built-in link, without its program. */
export async function manifestOf({ file }: Pick<BuiltInLink, 'file'>): Promise<Manifest> {
  const { manifest } = (await import(new URL('./manifest.ts', `file://${file}`).href)) as { manifest: Manifest }
  return manifest
}
