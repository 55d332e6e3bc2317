import { existsSync } from 'node:fs'
import { cp, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UsageError } from './settings.ts'

const template = join(import.meta.dirname, 'template')

/**
 * Copies the template to a new folder. The name of the folder becomes the name of the link. Returns the created files.
 */
export async function scaffoldLink(folder: string): Promise<string[]> {
  const target = resolve(folder)
  const name = basename(target)
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(name)) {
    throw new UsageError(
      `"${name}" is not a valid link name. Use lower-case letters, digits and -, starting with a letter.`,
    )
  }
  if (existsSync(target)) throw new UsageError(`${target} already exists.`)
  await cp(template, target, { recursive: true })
  await rename(join(target, 'template.test.ts'), join(target, `${name}.test.ts`))
  const manifest = join(target, 'manifest.ts')
  await writeFile(manifest, named(await readFile(manifest, 'utf8'), name))
  return (await readdir(target)).toSorted().map((file) => join(target, file))
}

function named(manifest: string, name: string): string {
  const title = name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ')
  return manifest
    .replace('example.links.template', `example.links.${name}`)
    .replace('example:links:template', `example:links:${name}`)
    .replace("'Template'", `'${title}'`)
}
