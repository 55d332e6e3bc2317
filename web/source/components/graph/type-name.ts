import type { GraphNode } from '@millwright/api/inventory.ts'
import { useText } from '../../app/language-context.tsx'
import { graphMessages } from './messages.ts'

/** Types in the language of the person; types of their own as they are. */
export function useTypeName(): (thing: Pick<GraphNode, 'type' | 'functional_object_type'>) => string {
  const text = useText(graphMessages)
  const names: Record<string, string> = {
    Device: text.Device,
    Gateway: text.Gateway,
    SoftwareArtifact: text.SoftwareArtifact,
    Asset: text.Asset,
  }
  return ({ type, functional_object_type: own }) =>
    type === 'node' ? text.node : own === undefined ? text.unset : (names[own] ?? own)
}
