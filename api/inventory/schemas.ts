import { Type } from 'typebox'
import { closed, data, page, pageQuery } from '../envelope.ts'
import { Document } from './shapes.ts'

/** Operations on asset schemas. */

const schemaUrl = Type.String({ minLength: 1, maxLength: 512, format: 'uri' })
const schemaFields = { url: Type.String(), title: Type.String(), builtIn: Type.Boolean() }

export const schemaOperations = {
  listSchemas: {
    method: 'GET',
    path: '/schemas',
    summary: 'List asset schemas, built-in schemas first',
    access: 'inventory_read_asset_data',
    query: closed(pageQuery),
    answers: { 200: page(closed(schemaFields)) },
  },
  readSchema: {
    method: 'GET',
    path: '/schemas/document',
    summary: 'Read an asset schema with its document, by URL',
    access: 'inventory_read_asset_data',
    query: closed({ url: schemaUrl }),
    tagged: true,
    answers: { 200: data(closed({ ...schemaFields, schema: Document })) },
    errors: ['not_found'],
  },
  createSchema: {
    method: 'POST',
    path: '/schemas',
    summary: 'Upload an asset schema (JSON Schema 2019-09 or 2020-12); its URL is never fetched',
    access: 'glb_schema_write',
    validatesInWorker: true,
    body: data(closed({ url: schemaUrl, schema: Document })),
    answers: { 201: data(closed(schemaFields)) },
    errors: ['already_exists', 'invalid_schema', 'built_in'],
  },
} as const
