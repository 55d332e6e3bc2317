import { mkdirSync, writeFileSync } from 'node:fs'
import { builtInWorkflows } from '@millwright/cloud/services/workflows/built-in.ts'
import { picture } from '@millwright/cloud/services/workflows/picture.ts'

/** Draws the workflows that come with the product for docs/workflows.md. Run it after one was added. */
const folder = new URL('../docs/workflows/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const workflow of builtInWorkflows.values())
  writeFileSync(new URL(`${workflow.name}.svg`, folder), picture(workflow))
