import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { assetTypeName } from '../values/asset-type-names.ts'
import { graphMessages } from './messages.ts'

/**
 * Returns a function that returns the name of a node's type in the language of the user. Custom types are not
 * translated.
 */
export function useNodeTypeName(): (node: Pick<GraphNode, 'type' | 'functional_object_type'>) => string {
  const text = useText(graphMessages)
  const language = useLanguage()
  return ({ type, functional_object_type: own }) =>
    type === 'node' ? text.node : own === undefined ? text.unset : assetTypeName(own, language)
}
