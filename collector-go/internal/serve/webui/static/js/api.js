// The collector's API. A question that is asked again under its name cancels the one before.

/** ApiError is an answer that is an error, in the collector's own words. */
export class ApiError extends Error {
  constructor(message, type, status) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

const underway = new Map();

/**
 * ask answers the data of GET path, or all of the answer with its warnings. It throws an ApiError, or an AbortError
 * where the same name was asked again.
 */
export async function ask(name, path, parameters = {}, complete = false) {
  underway.get(name)?.abort();
  const controller = new AbortController();
  underway.set(name, controller);
  try {
    const answer = await get(path, parameters, controller.signal);
    return complete ? answer : answer.data;
  } finally {
    if (underway.get(name) === controller) underway.delete(name);
  }
}

async function get(path, parameters, signal) {
  const address = path.replace(/^\//, ''); // below the page's own path: a proxy may have put one before it
  const form = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value != null));
  let response;
  try {
    response = await fetch(form.size ? `${address}?${form}` : address, { signal, credentials: 'same-origin' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError('The collector does not answer. Does it run, and can this machine reach it?', 'unreachable', 0);
  }
  return answerOf(response);
}

async function answerOf(response) {
  const body = await response.text();
  let answer;
  try {
    answer = JSON.parse(body);
  } catch {
    throw new ApiError(
      body.trim().slice(0, 300) || `The collector answered ${response.status} without a word.`,
      'unreadable',
      response.status,
    );
  }
  if (answer.status !== 'success')
    throw new ApiError(answer.error ?? 'The collector answered with an error.', answer.errorType, response.status);
  return answer;
}

/** outdated reports whether an error needs no message: a newer request was sent. */
export const outdated = (error) => error.name === 'AbortError';
