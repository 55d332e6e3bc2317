import { mkdirSync, writeFileSync } from 'node:fs'
import { builtInWorkflows } from '@millwright/cloud/services/workflows/built-in.ts'
import { picture } from '@millwright/cloud/services/workflows/picture.ts'

/**
 * Draws the diagrams of the built-in workflows for docs/reference/workflows.md. Run this program after adding a
 * workflow.
 */
const folder = new URL('../docs/pictures/workflows/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const workflow of builtInWorkflows.values())
  writeFileSync(new URL(`${workflow.name}.svg`, folder), picture(workflow))
