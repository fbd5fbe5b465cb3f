/** The header that authenticates a request with an API key. */
export const bearer = (key: string | null) => ({ authorization: `Bearer ${key}` });

/** The headers for a request with a JSON body. */
export const jsonBearer = (key: string | null) => ({ ...bearer(key), "content-type": "application/json" });
