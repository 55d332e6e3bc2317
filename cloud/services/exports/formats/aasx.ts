import { importLimits } from '@millwright/api/import-limits.ts'
import { Problem } from '@millwright/api/problem.ts'
import { zipParts } from '../../../platform/files/zip-writer.ts'
import type { AasOptions } from './aas.ts'
import { type AssetReader, aasJson } from './aas-environment.ts'

/**
 * Writes an AASX package (IDTA 01005): a zip archive whose relationships lead from the package to its origin, and from the
 * origin to the environment. The package has one environment, because common readers read only the first one. The
 * environment is JSON, which has no namespace: readers of the metamodel V3.0 and of V3.1 open it.
 */
export function aasx(
  readAssets: AssetReader,
  options: AasOptions,
  { environmentBytes = importLimits.unpackedBytes }: { environmentBytes?: number } = {},
): AsyncGenerator<Buffer> {
  return zipParts([
    { name: '[Content_Types].xml', content: [contentTypes] },
    { name: '_rels/.rels', content: [relationships('aasx-origin', '/aasx/aasx-origin')] },
    { name: 'aasx/aasx-origin', content: ['Intentionally empty.'] },
    { name: 'aasx/_rels/aasx-origin.rels', content: [relationships('aas-spec', '/aasx/environment.json')] },
    { name: 'aasx/environment.json', content: limited(aasJson(readAssets, options), environmentBytes) },
  ])
}

/** Ends an export that an import could not read again, because imports limit the size of the content of a package. */
async function* limited(texts: AsyncIterable<string>, most: number): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const text of texts) {
    const part = Buffer.from(text)
    bytes += part.length
    if (bytes > most)
      throw new Problem(
        'conflict',
        `The package has more than ${most} bytes before compression, which is the limit of an import. Use a filter that selects fewer assets, for example one access group, or the format aas-json`,
      )
    yield part
  }
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

const contentTypes = `${declaration}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="json" ContentType="application/json"/>
<Override PartName="/aasx/aasx-origin" ContentType="text/plain"/>
</Types>
`

function relationships(type: string, target: string): string {
  const relationship = `Id="R1" Type="http://admin-shell.io/aasx/relationships/${type}" Target="${target}"`
  return `${declaration}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship ${relationship}/>
</Relationships>
`
}
